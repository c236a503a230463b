-- Ways that end with nothing on purpose.
local function first(list)
  for _, id in ipairs(list) do
    if redis.call('exists', KEYS[1] .. id) == 1 then
      return id
    end
    if redis.call('exists', KEYS[2] .. id) == 1 then
      return id .. '!'
    end
  end
end
local function refused()
  if redis.call('get', KEYS[3]) == 'closed' then
    return 'CLOSED'
  end
end
local function store(id)
  redis.call('set', KEYS[4], id)
  return id
end
if refused() then
  return redis.error_reply('CLOSED it')
end
local id = first(ARGV)
if id == nil then
  return
end
store(id)
if redis.call('ttl', KEYS[6]) > 0 then
  return redis.call('decr', KEYS[5])
end
return {id, redis.call('pttl', KEYS[6])}
