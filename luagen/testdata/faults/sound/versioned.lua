local version = redis.call('HGET', KEYS[1], 'version')
if version and tonumber(version) >= tonumber(ARGV[1]) then
  return 0
end
local fields = {'version', ARGV[1]}
for i = 2, math.min(#ARGV, 200) do
  fields[#fields + 1] = ARGV[i]
end
redis.call('HSET', KEYS[1], unpack(fields))
return 1
