---@key owner_id string
---@arg ttl milliseconds
---@arg max_ttl milliseconds
---@arg ids string...
---@return string request_uuid
return redis.call('set', owner_id, ttl .. max_ttl .. #ids)
