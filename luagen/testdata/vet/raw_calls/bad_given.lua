-- A list that is made of all arguments.
local words = {}
for i = 2, #ARGV do
  words[#words + 1] = ARGV[1]
  words[#words + 1] = ARGV[i]
end
return redis.call('zadd', KEYS[1], unpack(words))
