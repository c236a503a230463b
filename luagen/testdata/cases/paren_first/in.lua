---@key lock hash
---@arg owner string
(redis).call('hget', lock, owner)
