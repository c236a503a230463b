--- Keeps a hold until its lease ends, for an owner that no client has.
---
---@library

-- nobody returns the owner of a hold that was revoked. It has the form of owners: otherwise the hash would be no lock.
local function nobody()
  return '00000000-0000-0000-0000-000000000000:0'
end

-- stays returns for how long key stays held after its hold is revoked, in milliseconds, and whether the script must
-- still replace its owner, held. 0: held is neither owner, which may be empty for any, nor that of a revoked hold. A key
-- without an expiry stays held for the lease.
local function stays(key, held, owner, lease)
  if owner ~= '' and held ~= owner and held ~= nobody() then
    return 0, false
  end
  local left = redis.call('pttl', key)
  return math.max(1, left < 0 and lease or left), left < 0 or held ~= nobody()
end
