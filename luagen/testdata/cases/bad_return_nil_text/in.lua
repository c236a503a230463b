---@key job hash
---@arg other bool
---@return string id
---@return string owner
---@return nil
---@readonly
if other then
  return redis.status_reply('NONE')
end
return {redis.call('hget', job, 'id'), nil}
