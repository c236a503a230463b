--- Assigns to declared names within branches, loops and functions.
---@key lock string
---@arg owner string
---@command publish publish|spublish
---@channel released
if owner == '' then lock = 'other' end
local function forget() owner = nil end
forget()
for i = 1, 2 do publish, released = released, publish end
redis.call('set', lock, owner)
redis.call(publish, released, '0')
