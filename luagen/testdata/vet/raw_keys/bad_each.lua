-- Keys that are arguments in turn, or made of an argument and a reply.
for i = 1, #ARGV do
  redis.call('del', ARGV[i])
end
return redis.call('get', KEYS[1])
