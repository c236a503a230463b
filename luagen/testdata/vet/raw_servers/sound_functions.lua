-- Functions that other scripts get.
local function touch(key)
  redis.call('pexpire', key, lifetime(key))
end
