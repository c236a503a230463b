-- A loop from 0 on, whose places are one more, and a branch that puts nothing.
local stale = {}
for i = 0, tonumber(ARGV[1]) - 1 do
  local id = ARGV[2 + i]
  if redis.call('HEXISTS', KEYS[1], id) == 1 then
    redis.call('SADD', KEYS[2], id)
  elseif redis.call('SISMEMBER', KEYS[3], id) == 1 then
    stale[i + 1] = id
  end
end
return stale
