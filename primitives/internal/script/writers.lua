--- The places of writers that wait for readers to leave: fields of a hash, which ends by itself. While there is
--- one, readers stand back.
---
---@library

-- give_back takes away owner's place, if there is one. Where it was the last, it calls wake first: readers who
-- stood back may join again. It reports false, and writes nothing, if wake does.
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
