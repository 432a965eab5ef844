SELECT count(*) FROM parked_flow
