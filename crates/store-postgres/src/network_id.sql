SELECT network_id FROM network WHERE one = 1
