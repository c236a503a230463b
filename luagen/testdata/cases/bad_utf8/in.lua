--- Prose ‚.
---@key lock any
---@arg owner bool ï»¿text
if owner then return redis.call("getdel", lock) end
