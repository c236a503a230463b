--- Prose ‚.
---@key lock hash
---@arg owner bool ï»¿text
if owner then return redis.call("get", lock) end
