local fields = redis.call('HGETALL', KEYS[1])
if not fields then
  return redis.error_reply('NOTFOUND no such user')
end
return #fields / 2
