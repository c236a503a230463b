local res = redis.pcall('set', KEYS[1], ARGV[1])
if type(res) == 'table' and res.err then
  return {err = res.err}
end
redis.pcall('expire', KEYS[1], 60)
return 1
