-- Its own numbers stand in ARGV.
for i = 1, #ARGV do
  ARGV[i] = tonumber(ARGV[i])
end
if ARGV[1] > 5 then return redis.call('get', KEYS[1]) end
return ARGV[2] == 1
