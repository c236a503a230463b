--- Publishes.
---@key lock hash
---@key side string prefix
---@command publish publish|spublish
---@channel released
---@error GONE the lock does not exist
---@return int n
if redis.call('exists', lock, side .. ':1') == 0 then return redis.error_reply('GONE no lock') end
return redis.call(publish, released, '0')
