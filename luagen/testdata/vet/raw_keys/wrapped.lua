local function exec(cmd, ...) return redis.call(cmd, ...) end
exec('set', KEYS[1], ARGV[1], 'NX', 'XX')
exec('incr', 'stats:updates')
