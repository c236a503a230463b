local reply = redis.call('set', KEYS[1], ARGV[1], 'NX')
if reply and reply.ok == 'OK' then
  return 1
end
return 0
