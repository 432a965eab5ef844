SELECT network_id FROM network
