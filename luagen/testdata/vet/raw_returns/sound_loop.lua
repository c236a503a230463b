-- Loops that go on, that stop at the first on purpose, or that have one turn.
local function free(key)
  local n = redis.call('llen', key)
  if n > 3 then redis.call('publish', key, n) return false end
  return true
end
free(KEYS[1])
while true do
  local id = redis.call('rpop', KEYS[2])
  if not id then break end
  redis.call('lpush', KEYS[3], id)
end
for _, id in ipairs(redis.call('zrange', KEYS[1], 0, 0)) do
  redis.call('zrem', KEYS[1], id)
  return id
end
local tries = 0
for _, id in ipairs(redis.call('lrange', KEYS[2], 0, 99)) do
  tries = tries + 1
  if redis.call('lrem', KEYS[2], 1, id) == 1 then return {id, tries} end
end
local done = 0
for _, id in ipairs(redis.call('lrange', KEYS[2], 0, 99)) do
  if redis.call('lrem', KEYS[3], 1, id) == 1 then
    done = done + 1
    if done > 3 then return done end
  end
end
for id in pairs(cjson.decode(ARGV[2])) do return id end
return done
