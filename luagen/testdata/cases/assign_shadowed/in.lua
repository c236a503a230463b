--- Assigns to locals, parameters and fields that carry declared names.
---@key lock string
---@arg owner string
local copy = {owner = owner}
copy.owner = owner .. ':1'
local function shorten(owner)
  owner = string.sub(owner, 1, 8)
  return owner
end
do
  local owner = shorten(copy.owner)
  owner = owner .. ':2'
  redis.call('set', lock, owner)
end
