local function numbers(list)
  for i = 1, #list do list[i] = tonumber(list[i]) end
end
numbers(ARGV)
if ARGV[1] > 5 then return redis.call('get', KEYS[1]) end
return 0
