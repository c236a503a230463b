---@allow unused the first argument is for others
for i = 2, #ARGV do
  redis.call('sadd', KEYS[1], ARGV[i])
end
return redis.call('scard', KEYS[1]) + ARGV[1]
