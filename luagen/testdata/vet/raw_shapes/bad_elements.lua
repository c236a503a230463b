for _, entry in ipairs(redis.call('XRANGE', KEYS[4], '-', '+')) do
  redis.call('XADD', KEYS[4], '*', 'd', entry[2].d)
end
local kind = redis.call('TYPE', KEYS[1])['OK']
local done = redis.pcall('INCR', KEYS[2])
if type(done) == 'table' then
  return done.error
end
return redis.call('LINDEX', KEYS[2], 0)[1] == kind
