-- Made of a key that was passed, or of what is not known.
local prefix = KEYS[1]
local function drop(k) redis.call('del', k) end
drop(prefix .. ':owner')
redis.call('del', prefix .. ':' .. ARGV[1], 'owner:' .. KEYS[2])
for i, key in ipairs(KEYS) do redis.call('set', key, i) end
for i = 1, #KEYS do redis.call('del', KEYS[i]) end
local all = {}
for i = 1, #KEYS do all[#all + 1] = KEYS[i] end
redis.call('lpush', ARGV[3] .. ':' .. ARGV[1], 1)
redis.call('del', redis.call('get', prefix), 'jobs:{' .. ARGV[1] .. '}', ARGV[4] .. ':jobs')
local function send(name, key) redis.call(name, key) end
send(ARGV[5] == '1' and 'del' or 'persist', prefix)
local function exec(cmd, ...) return redis.call(cmd, ...) end
exec('incr', prefix .. ':calls')
redis.call('publish', 'changes', prefix)
redis.call('publish', ARGV[2], prefix)
return redis.call('mget', unpack(all))
