-- The same, tested or set before, or of JSON that is taken as it is.
local ok, job = pcall(cjson.decode, redis.call('get', KEYS[1]) or '')
if not ok or type(job) ~= 'table' then return 0 end
local queue = job.queue
if not queue or not job.words then return 0 end
redis.call('sadd', KEYS[2], 'jobs:' .. queue)
for word in string.gmatch(job.words, '%a+') do redis.call('sadd', KEYS[2], word) end
job.turns = job.turns or 0
job.turns = job.turns + 1
local document = cjson.decode(ARGV[2])
document.tags = document.tags or {}
for _, tag in ipairs(document.tags) do redis.call('sadd', KEYS[3], tag) end
if document.owner then redis.call('publish', KEYS[4], 'of ' .. document.owner) end
redis.call('publish', KEYS[4], 'id ' .. document.id)
local raw = redis.call('get', KEYS[5])
local count = raw and cjson.decode(raw) or {all = 0}
count.all = count.all + 1
redis.call('set', KEYS[5], cjson.encode(count), 'EX', 60)
if job.parent then return job.parent.id end
return job.turns
