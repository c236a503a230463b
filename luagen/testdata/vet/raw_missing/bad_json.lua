-- Fields of JSON that the script does not trust, that it has a default for elsewhere, or that a new table has not got.
local ok, job = pcall(cjson.decode, redis.call('get', KEYS[1]) or '')
if not ok or type(job) ~= 'table' then return 0 end
local queue = job.queue
redis.call('sadd', KEYS[2], 'jobs:' .. queue)
for word in string.gmatch(job.words, '%a+') do redis.call('sadd', KEYS[2], word) end
local patch, document = cjson.decode(ARGV[1]), cjson.decode(ARGV[2])
for _, tag in ipairs(patch.tags or {}) do redis.call('sadd', KEYS[3], tag) end
for _, tag in ipairs(document.tags) do redis.call('sadd', KEYS[3], tag) end
if not document.owner then redis.call('incr', KEYS[4]) end
redis.call('publish', KEYS[5], 'of ' .. document.owner)
local raw = redis.call('get', KEYS[6])
local count = raw and cjson.decode(raw) or {}
count.all = count.all + 1
redis.call('set', KEYS[6], cjson.encode(count), 'EX', 60)
return job.parent.id
