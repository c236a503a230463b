local left = redis.call('pttl', KEYS[1])
if left == -1 then
  return -1
elseif left == -2 then
  redis.call('set', KEYS[1], '', 'px', ARGV[1])
else
  if left > 100 then
    return -2
  end
  redis.call('pexpire', KEYS[1], 100)
end
for id in pairs(cjson.decode(ARGV[2])) do
  return id
end
return 0
