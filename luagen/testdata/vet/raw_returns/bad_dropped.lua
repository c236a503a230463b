local function claim(id)
  redis.call('lpush', KEYS[2], id)
  return {id, 1}
end
local function reply(id)
  cjson.encode({id = id})
end
local id = redis.call('rpop', KEYS[1])
if not id then
  redis.status_reply('EMPTY')
end
if redis.call('scard', KEYS[3]) <= 1 then
  claim(id)
end
if redis.call('exists', KEYS[4]) == 1 then
  return claim(id)
elseif ARGV[1] == 'look' then
  redis.call('get', KEYS[4])
  reply(id)
else
  redis.call('hget', KEYS[5], id)
end
return nil
