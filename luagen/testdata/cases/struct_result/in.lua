--- Takes two keys, and returns three results.
---@key lock hash
---@key token string
---@arg lease milliseconds
---@return int? token   the fencing token
---@return milliseconds wait
---@return string[] owners who waits
---@return bytes? raw
redis.call('pexpire', lock, lease)
return {redis.call('incr', token), 0, {'a'}, false}
