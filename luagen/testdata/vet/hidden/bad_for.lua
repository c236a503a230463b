---@key lock string
for _, f in ipairs({redis.call}) do f('get', 'foo' .. lock) end
