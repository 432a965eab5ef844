SELECT node_id, revocation_counter FROM node
