---@key lock hash
return redis.call('hdel', lock, '`' .. "\\`é\255")
