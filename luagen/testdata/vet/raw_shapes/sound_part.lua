local now = tonumber(ARGV[1])
local stored = function()
  return redis.call('get', stored_key)
end
