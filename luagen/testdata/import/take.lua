#!lua flags=allow-oom
-- Takes the lock, or says how long its holder still has it.
local lock = KEYS[1] -- the lock
local owner, lease = ARGV[1], ARGV[2]
if redis.call('set', lock, owner, 'NX', 'PX', lease) then
  return -1
end
if redis.call('get', lock) == owner then
  return redis.error_reply('HELD you have it')
end
return redis.call('pttl', KEYS[1])
