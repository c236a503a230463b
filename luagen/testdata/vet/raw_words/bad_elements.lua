local limit, owner = ARGV[1], ARGV[4]
if redis.call('incr', KEYS[1]) > tonumber(limit) then
  return tonumber(ARGV[2])
end
return {owner, KEYS[3]}
