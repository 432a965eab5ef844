//! Hashes that other programs made: bcrypt and argon2-cffi, hashlib, passlib, Django, drupal-hash-utility, crypt(3) of glibc and
//! OpenSSL, and the one that Firebase publishes; some of them again in the base64 of Keycloak and of Firebase's exports.

pub(crate) const PASSWORD: &str = "correct horse battery staple";
const ACCENTS: &str = "Pässwörd €";
/// What bcrypt would not read the end of.
const LONG: &str =
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxcorrect horse battery staple";

/// What made it, the password, the hash.
pub(crate) const VECTORS: &[(&str, &str, &str)] = &[
    ("bcrypt", PASSWORD, "$2a$05$/n9WBhOspBLpjU2wgI7MseERGTgCaZGp0S4zOqSNPHzNpSGSn/lBW"),
    ("bcrypt", PASSWORD, "$2b$05$f5Wln.c9p1tJ/BOosudp1uoOWFqgwCkFgK8NE3cdQZzAWfgiyskVe"),
    ("bcrypt", PASSWORD, "$2y$05$Yx4WrczmX9JK4wph7DHSYOYKxdfBf4/un/5XifLXPW3VxCppsCF7G"),
    ("bcrypt", ACCENTS, "$2b$04$Dd.6tKKlUc7E1WG1D5sieuawuHvUnyb3ngn.SkzOqUk9cFZLHKW6G"),
    ("bcrypt", PASSWORD, "$2b$05$abcdefghijklmnopqrstuvFiPhXf1sVd3pCCRO.uVh34H/qI/ZsuT"),
    (
        "argon2i",
        PASSWORD,
        "$argon2i$v=19$m=256,t=2,p=2$c2FsdHNhbHRzYWx0c2FsdA$MbzA8GVF4EA/MgwlSaIMQCode2dyS6f4Ok6PSniQoZ0",
    ),
    (
        "argon2id",
        PASSWORD,
        "$argon2id$v=19$m=256,t=2,p=2$c2FsdHNhbHRzYWx0c2FsdA$hxPLLiBpfa57qgxuWv9vyCQmEygKFVJ60hWMl7OF4Jo",
    ),
    (
        "argon2id",
        PASSWORD,
        "argon2$argon2id$v=19$m=256,t=2,p=2$c2FsdHNhbHRzYWx0c2FsdA$hxPLLiBpfa57qgxuWv9vyCQmEygKFVJ60hWMl7OF4Jo",
    ),
    (
        "argon2id",
        PASSWORD,
        "$argon2id$v=19$m=256,t=2,p=2$c2FsdHNhbHRzYWx0c2FsdA==$hxPLLiBpfa57qgxuWv9vyCQmEygKFVJ60hWMl7OF4Jo=",
    ),
    (
        "argon2i",
        PASSWORD,
        "$argon2i$v=16$m=256,t=2,p=2$c2FsdHNhbHRzYWx0c2FsdA$HV59HzBp7WUkpbBiXy8KzoqOkZLzPKy2hQb4tyzKPd8",
    ),
    (
        "argon2i",
        PASSWORD,
        "$argon2i$m=256,t=2,p=2$c2FsdHNhbHRzYWx0c2FsdA==$HV59HzBp7WUkpbBiXy8KzoqOkZLzPKy2hQb4tyzKPd8=",
    ),
    (
        "argon2id",
        PASSWORD,
        "$argon2id$v=16$m=256,t=2,p=2$c2FsdHNhbHRzYWx0c2FsdA$zvm7ImB8VM4jyLQZP5LMK0tZ/8F6OTcZqog0fvDYpCk",
    ),
    ("pbkdf2", PASSWORD, "$pbkdf2-sha1$i=1000,l=20$//79c2FsdHNhbHQ$UQ+bUnkZXT6LQ3JfDFeNFhhbtGY"),
    (
        "pbkdf2",
        PASSWORD,
        "$pbkdf2-sha256$i=1000,l=64$//79c2FsdHNhbHQxMjM0NQ==$/Y+Po+P+8V5pFTll9Wvi1YyA/u87hnQct6ezY0dNOrv3QR/4pOCOsKK18qT1KUji4WzcQyh4n3F7gSEFi1zK7Q==",
    ),
    (
        "pbkdf2",
        PASSWORD,
        "$pbkdf2-sha256$i=1000,l=32$//79c2FsdHNhbHQ$d0lGOtY/bjwRKEhXkYPe2hsAb/jz5yqBJbVyoQy8C2w",
    ),
    (
        "pbkdf2",
        PASSWORD,
        "$pbkdf2-sha512$i=1000,l=64$//79c2FsdHNhbHQ$DuuzlxXzhm16kepaqnOvIpwbEzMTCOIVCyZVqFWSNAmF3Oe5ZBkI5tj+SEtQ/CsE8UAb9tTQm+qfBN1wB6eSmg",
    ),
    (
        "pbkdf2",
        PASSWORD,
        "$pbkdf2-sha1$i=1000,l=128$//79c2FsdHNhbHQ$UQ+bUnkZXT6LQ3JfDFeNFhhbtGaStzBwi/XiKRVxsitktaqDwBgfiHPyxnEnpMX5c66+SMnROA68tl02ojLxJ8B1R8XsaiX6z6Q6X9zO7pWHH/V41D9AffV8Pyut95SYM1KheVpGn7w3jZwGqJDcP2ZsAsbyUbu7MeTlq0DPQ6I",
    ),
    ("pbkdf2", PASSWORD, "$pbkdf2$1000$UOo9Z8wZI6QUIsT4nzPmXA$tkzIgIYRvT4wMywuke1AED2nFt4"),
    (
        "pbkdf2",
        PASSWORD,
        "$pbkdf2-sha256$1000$KuWc07oXQkgJwfh/732vVQ$u3gMeLvFoIwT0wIZKhevRGwaMjfbBc5IwcWthfPDY70",
    ),
    (
        "pbkdf2",
        PASSWORD,
        "$pbkdf2-sha512$1000$gdB6770XAiBkrPV.rxWiFA$NMZ7ASdEAzT/P/Y3Jq5kePlq5fuY6WVPxQS4jxQVUKHwr3XvgwsCjWt/4nfQy/3Q.y2cPadk01IdJSznlxSCTg",
    ),
    ("pbkdf2", PASSWORD, "pbkdf2_sha256$1000$bAyrqANsSNHo$MyThamXU1NLOD8r4f98MckDthi7yGnoJev65MsY3qCI="),
    ("pbkdf2", PASSWORD, "pbkdf2_sha1$1000$ofavNu7FbBLB$FvhCmBAexM+AmFthkS5Lbo5abqQ="),
    (
        "scrypt",
        PASSWORD,
        "$scrypt$ln=10,r=8,p=2$TmFDbE5hQ2xOYUNsTmFDbA$PBoLIcHtSExnac5B2trmL1iOiXA485U1nREeNRBXyr8",
    ),
    (
        "scrypt",
        PASSWORD,
        "$scrypt$ln=1024,r=4,p=1$TmFDbE5hQ2xOYUNsTmFDbA==$pMRDYHz/94IiBk6OFpHQ2sWcz+D2o/QvJIaR2x9J8+0=",
    ),
    (
        "scrypt",
        PASSWORD,
        "$scrypt$ln=8,r=8,p=1$55wzZqw1xrhXaq01hnBuDQ$QeKun3P7f/jTCzF8uI0iPrHlzQAxCuWHJ7M5v/TK4WQ",
    ),
    (
        "firescrypt",
        PASSWORD,
        "$firescrypt$ln=10,r=8,p=1$ZmlyZXNhbHQhIQ==$Rww1ffGmH4IZlhgs1eYsYfywvbMHRVJa39twjZBs591KiM10Cytkm51fMAmG7TH9W/ICJEK5LD2At3fCzjr8mQ==$Bw==$Y4Rm1IrOwHkNbGRbpYKDwwIwGfdYnuH064sQpr/VEsQPvNO81wCGlZ4JUpRPVqG8jyO2V7RXu9594m+irfIR/A==",
    ),
    (
        "firescrypt",
        "user1password",
        "$firescrypt$ln=14,r=8,p=1$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==$Bw==$jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==",
    ),
    (
        "firescrypt",
        "user1password",
        "$firescrypt$ln=14,r=8,p=1$42xEC-ixf3L2lw==$lSrfV15cpx95_sZS2W9c9Kp6i_LVgQNDNC_qzrCnh1SAyZvqmZqAjTdn3aoItz-VHjoZilo78198JAdRuid5lQ==$Bw==$jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==",
    ),
    ("salted-digest", PASSWORD, "{SSHA}VpcFh24qF4B3cK4o3y9MwPgGGxYAAXNhbHQ="),
    ("salted-digest", PASSWORD, "{SSHA256}xXWFnk9IXjEXa2FRkzvouDrLTMxwVQjjsnbV0iChPvQAAXNhbHQ="),
    (
        "salted-digest",
        PASSWORD,
        "{SSHA512}MOKG0viyokUyQGhnxQ60srL1zX28vluE5KvOYC4uUJe6zWch6V49f5GUiXYlkv6OKRt7Zh0riX4ktAJ4jh9RfAABc2FsdA==",
    ),
    ("salted-digest", PASSWORD, "{SSHA}HhiwykrJFSHNN9OG9jTbp5U046YhpNRa"),
    (
        "salted-digest",
        PASSWORD,
        "$md5$pf=PHtTQUxUfXx7UEFTU1dPUkR9fHtTQUxUfT4=$bmF7UEFTU1dPUkR9Y2w=$67+aghZ8GYhvbN1ZhcwTMw==",
    ),
    (
        "salted-digest",
        PASSWORD,
        "$sha1$pf=PHtTQUxUfXx7UEFTU1dPUkR9fHtTQUxUfT4=$bmF7UEFTU1dPUkR9Y2w=$7yAdu8RHaWy29JvR2uyy519s0zM=",
    ),
    (
        "salted-digest",
        PASSWORD,
        "$sha256$pf=PHtTQUxUfXx7UEFTU1dPUkR9fHtTQUxUfT4=$bmF7UEFTU1dPUkR9Y2w=$uqtKAvoBlUeNBPIzx64vQhmmXdOwBWJjSva1m14wRWI=",
    ),
    (
        "salted-digest",
        PASSWORD,
        "$sha512$pf=PHtTQUxUfXx7UEFTU1dPUkR9fHtTQUxUfT4=$bmF7UEFTU1dPUkR9Y2w=$wRPPRZXargbZ2QHC9vH9FTMYEDRli/+D4t37eo/a2F9Zil7a6mD7lrbNktDEQ5nf5uJMPxOTG3FLLQrbndg7rw==",
    ),
    ("salted-digest", PASSWORD, "$md5$nMKuihunqT2jm0b8EBnEgQ=="),
    ("sha-crypt", PASSWORD, "$5$.UbLwziWOzmY77tk$h252bp3kXqBaAbnJ.n8KHdjEwoWfwIyi6w86cQYod/3"),
    ("sha-crypt", PASSWORD, "$5$rounds=1234$yI535phwgtQDAWLp$fZjIR/s6Kyyc52ATi0JR8pk9gNtFvX6zxCh2x6IJT01"),
    ("sha-crypt", ACCENTS, "$5$rounds=1000$G2xEhWvbI/Cn/7S7$fGAeYU.RTiKPjluCL9D9CAsw8OZ8EPj64gFIbgznnu/"),
    (
        "sha-crypt",
        PASSWORD,
        "$6$iWD02NnYgLw.TxAi$HHNbgPKpC2aCPYVNX45REqZqkJDtEGQO/7I0x/Wb91v1fQODdhK4mIJUPduqwKSHUK.nX3PzEF.SVSYo/M9L0/",
    ),
    (
        "sha-crypt",
        PASSWORD,
        "$6$rounds=1234$Zmw4ZWQhUSqWq/7A$/.e4aIs.uL.UdoIEMuMxRuas9WaXfKsb/Y2mGWl4bH45HXnemxjARgjncs.5xP7.tzS7EU9To4l0w6A6xDXW./",
    ),
    (
        "sha-crypt",
        ACCENTS,
        "$6$rounds=1000$WthG.pxAQ3HV44Kh$BjtoC3nUKCsj6ushvP1VOFoGVUxYYR/EffhyqVwfNDq9DqRH0MYBxk73DIEGV.FGMRXLXKq0Z.o7hcywxGIs6/",
    ),
    ("sha-crypt", PASSWORD, "$5$$MsjYqtu7Jd.lrX851v15jpXReIh2FIIBaCMQ11ozcQ9"),
    ("sha-crypt", PASSWORD, "$5$rounds=1000$$mAwhFY7O7ZrOdMqLHnXfo0MEchkMOxIjJUTi3.3mBs5"),
    (
        "sha-crypt",
        PASSWORD,
        "$6$$.5S2N2yDfTC5WfZdQodycKNPME7cgos0yUKlyzH60S5NZ2OAK2pFE9vo8gnsaPEmNHhRqSHDKycbuQ8oP0E650",
    ),
    (
        "sha-crypt",
        PASSWORD,
        "$6$rounds=1000$$sPCgk4G5cMS0mYr4zMF8O2oJxPfk1DJFQkICJ4hs2bFSo3sqFYuxZ2U1YyxXhyURm3HklFVSQTV1fLZlR1igF.",
    ),
    ("sha-crypt", PASSWORD, "$5$a+b=c_-d,e$qeGba7nw7fPLZ/nt63QRUQe5P4EAcaM9G7VHmGwVFp2"),
    (
        "sha-crypt",
        PASSWORD,
        "$6$ab+c=d_e-f$UyLnhQeNcUow3Q6aZUcKSND8XK.D2Pl5mBCrP1jmXWJ1lxoiv2nuulfV7GLjEtw2qXBlkqcLJUbVMxLlVvCdU0",
    ),
    (
        "sha-crypt",
        PASSWORD,
        "$6$rounds=1000$x_y-z+=$o6ehN1zYOUWe5vHolofeDmGeFwJ.2qgBG7Z37wIWxBa6/zgI.mQgbbIxoMQ/jaHVfUnIRTRwwBA3tzgIdfLtu/",
    ),
    ("md5-crypt", PASSWORD, "$1$2JTxqUDL$Mi7TQz5E1tCp2s1OUM47K0"),
    ("md5-crypt", PASSWORD, "$1$a+b=c_-d$hGo16qsuABhrx5j7bAKcU."),
    ("md5-crypt", PASSWORD, "$1$a*b!$21Mu3dG6kQFO3z8Yv5UDT/"),
    ("md5-crypt", "", "$1$lnPrwcUW$DHbUNKi5lPsEJr1oUbdV3/"),
    ("md5-crypt", "x", "$1$IDRg5Vd9$9/x0cOJ2mpEXyl7HFSa1I/"),
    ("md5-crypt", ACCENTS, "$1$gCZNSs2N$GvuEEL2g1BKEAHmst9/4X/"),
    ("md5-crypt", "0123456789abcdef0123", "$1$c9tI6WFI$iHGPHtaMs/0MLSYdeYRqk1"),
    ("phpass", PASSWORD, "$P$6Nsalt./9eycE8mTUYsKHbiwWuZESX."),
    ("phpass", ACCENTS, "$P$6Nsalt./9Zu5ySmanE6owj.xgK10PJ/"),
    ("phpass", PASSWORD, "$H$BNAVfa1aIqsG.80iaUi3MeqgPvsbMV1"),
    ("phpass", ACCENTS, "$H$BrU6II5/uM9zyTAJAAtTvFz62Qrdij1"),
    ("phpass", PASSWORD, "$S$DZs5FK7XIakUyl6aHYwvw85Fvd4TEcZ7gjwLw/N8TJtb/zSSi3JP"),
    ("phpass", ACCENTS, "$S$Dp6qdjjEeI2RCGUEnXgSRvTumCQDyVFFOlt/0KBgPbI37uJlZGks"),
    ("wordpress", PASSWORD, "$wp$2y$05$Sn7/2zMJtMGK9XHKFL6ujuDGuwnfbvE80F88pmqDanzcwYwNmPLOK"),
    ("wordpress", ACCENTS, "$wp$2y$05$1ZSxGEEoE9iFyVCNpugs..FHILZYLpRueBP08RzNPjDkwlMErj6Ty"),
    ("wordpress", LONG, "$wp$2y$04$jZpcYcPhdbrNME5T93i4dO74O1aMqywr3OFsacxVDlhZnqIZETVa6"),
    ("hmac", PASSWORD, "$hmac-sha1$MjYxNmIwMjY4Yjk5NzhhNjIxMzEwMjQzNzI5ZWI4YWYxNmY4ZDUxNw==$a2V5IQ=="),
    ("hmac", PASSWORD, "$hmac-sha1$JhawJouZeKYhMQJDcp64rxb41Rc=$a2V5IQ=="),
    (
        "hmac",
        PASSWORD,
        "$hmac-sha256$NGI5MzkzNGU2N2UzMTg0Yzc2ZDdkMDg5M2NiNzM1MmU3M2ViOTFmNzRjOWM4YjRhMzE5YWQwNDg3MTgzNjY2ZA==$a2V5IQ==",
    ),
    ("hmac", PASSWORD, "$hmac-sha256$S5OTTmfjGEx219CJPLc1LnPrkfdMnItKMZrQSHGDZm0=$a2V5IQ=="),
    (
        "hmac",
        PASSWORD,
        "$hmac-sha512$YjVlN2E1NmJiNGZiNTBkNGEzMDA4YzU1MGJlMWIxZjVhOGZmZjAzMzM0OTA4YzM4MzBlYTExODE4YjQ5OWNhMjZmMjc3NjExNTllN2UxYTc2NTQ4YTM3NWE3OTNlYmQyYTcxODY0MGNiMDc4MWU2MTU1NWY4NmEzYjEyYjM4OTk=$a2V5IQ==",
    ),
    (
        "hmac",
        PASSWORD,
        "$hmac-sha512$teela7T7UNSjAIxVC+Gx9aj/8DM0kIw4MOoRgYtJnKJvJ3YRWefhp2VIo3Wnk+vSpxhkDLB4HmFVX4ajsSs4mQ==$a2V5IQ==",
    ),
    ("hmac", PASSWORD, "$hmac-md5$NDAzNmYxMWNlMDFmYzgwMzViOTgxMGY0MGFmOTU1YjY=$a2V5LW9mLXRoZS1zaXRl"),
    (
        "hmac",
        ACCENTS,
        "$hmac-md5$NmQ3MTA0NGY4YjU4MTRiODQ2MTAyYWY2NmY2MTc0MzE=$a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2traw==",
    ),
    (
        "hmac",
        PASSWORD,
        "$hmac-sha224$OTllN2I4NGE2ZGJiMDk3ODViZTJkZjMyZmE0NzQwNzJjOGM1YzQ4OWFlN2U4MDYzOTcwYTY1MDE=$a2V5LW9mLXRoZS1zaXRl",
    ),
    (
        "hmac",
        PASSWORD,
        "$hmac-sha384$NjdmMWZmNDJiY2JlZGFkYmQ0ZmNkZTI0NDMyNDFhNWYwMTM5YzFjMGU5YTgyMmZjYzkxMDI2NjVmNWU5ZGZlNzI0MzhiZWRhZjA1NmUzYWMzZDZmOGIxOTdmYTE0NjU5$a2V5LW9mLXRoZS1zaXRl",
    ),
    (
        "scrypt",
        PASSWORD,
        "scrypt$1024$seasalt$8$1$QMBRDuNq7pljC9V+clmpGo+/U//V5nQlsLBnaDD9vK5WG80UWev7M6KyTAM0hUJc1RssTgKy001SIjbeho4/iQ==",
    ),
    (
        "scrypt",
        ACCENTS,
        "scrypt$1024$pepper-and-salt$8$5$ISedj40ROThjTY8bNv9563xCckXNKBMbX+zXayZBiEYBXLgB+HOhJU1pvA/PaKOtoIhxXCx6UE8JwkeU3ilniA==",
    ),
    ("bcrypt", PASSWORD, "bcrypt$$2b$05$sASpAzSP26RELCiklD3EQOsnNZ3pGu0yhoB5tTimjme/I/1UIiyly"),
    ("bcrypt-sha256", PASSWORD, "bcrypt_sha256$$2b$05$KnuxRwMlO55JwPMILBI8cOqyNkvWCE4nOe8peC8ZpNHNrq7Zig5y6"),
    ("bcrypt-sha256", ACCENTS, "bcrypt_sha256$$2b$05$HikGIRfEi0YJGL86GcriaOpRrMBK92rQJcjOraPjVKaNp/hIkzQ9K"),
    (
        "bcrypt-sha256",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "bcrypt_sha256$$2b$05$xz9Y3rMrWEpIiIPGSsDkKO0wRPQPpY47M4OFYvNNHqusYVMZRsPLK",
    ),
    ("md5-crypt", PASSWORD, "{CRYPT}$1$saltsalt$BsXyQbZiQujHkdhwPwdol."),
    ("sha-crypt", PASSWORD, "{crypt}$5$rounds=1000$saltsalt$TFDrLHsZ0msaZlw.ZViQNNRjyMG9kAB3KDkA8eLkI.."),
    (
        "sha-crypt",
        PASSWORD,
        "{Crypt}$6$rounds=1000$saltsalt$j9Vf8YShD0koGhimfqidabEQeWmhpJ9YxprOCX.iV89zcJPtewN9pJnLRum4UDiZcBurQvcQNMKwhpHywoJfV/",
    ),
    ("bcrypt", PASSWORD, "{CRYPT}$2b$05$f5Wln.c9p1tJ/BOosudp1uoOWFqgwCkFgK8NE3cdQZzAWfgiyskVe"),
    ("salted-digest", PASSWORD, "{ssha}46BnfOtjjVkV2IM1YrlQPStNxk5zYWx0c2FsdA=="),
    ("salted-digest", ACCENTS, "{Ssha256}/eNdfEuZJhrtNYzmJlCQmdOQOh90gpYUy0pH9PIITf1zYWx0c2FsdA=="),
];
