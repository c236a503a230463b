--- The places of writers that wait for readers to leave: fields of a hash, which expires. While there is a place,
--- readers stand back.
---
---@library

-- give_back removes owner's place, if there is one. If it is the last place, it first calls wake: readers that stood
-- back may join again. If wake reports false, give_back reports false and writes nothing.
local function give_back(waiting, owner, wake)
  if redis.call('hexists', waiting, owner) == 0 then
    return true
  end
  if redis.call('hlen', waiting) == 1 and not wake() then
    return false
  end
  redis.call('hdel', waiting, owner)
  return true
end
