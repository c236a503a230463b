--- PUBLISH is no read.
---@key lock hash
---@channel released
if redis.call('exists', lock) == 0 then redis.call('publish', released, '0') end
