-- A name that has to be there for the one behind it; the beginnings of texts; the same expiry for each key.
local whole, part = math.modf(ARGV[1])
for _, name in ipairs(redis.call('zrange', KEYS[1], 0, 99)) do
  if string.sub(name, 1, 3) > string.sub(ARGV[2], 1, 3) then break end
  redis.call('zrem', KEYS[1], name)
end
local keys = {count = KEYS[2], names = KEYS[3]}
for _, key in pairs(keys) do
  if part > 0 then
    redis.call('pexpire', key, ARGV[3])
  else
    redis.call('persist', key)
  end
end
