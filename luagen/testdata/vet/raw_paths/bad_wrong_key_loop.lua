for _, key in ipairs(KEYS) do
  redis.call('set', key, 'default')
  redis.call('pexpire', KEYS[1], ARGV[1])
end
return true
