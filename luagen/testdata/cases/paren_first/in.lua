---@key lock hash
---@arg owner string
(redis).call('hdel', lock, owner)
