-- A scope ends with its loop; a condition is a number also behind "and"; and a call may have no arguments.
for i = 1, 2 do redis.call('incrby', KEYS[1], i) end
for _, key in pairs(KEYS) do redis.call('persist', key) end
while ARGV[2] and redis.call('scard', KEYS[2]) do redis.call('decr', KEYS[1]) end
if pcall() then return i end
return key
