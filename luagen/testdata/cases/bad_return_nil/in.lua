---@key job hash
---@return string id
---@readonly
---@return nil
---@return nil
return redis.call('hget', job, 'id')
