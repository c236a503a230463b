---@key lock hash
return redis.call('hget', lock, '`' .. "\\`é\255")
