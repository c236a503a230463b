-- Names of another field of the same call, and scores that nothing reads.
local job = redis.call('HMGET', KEYS[1], 'groupId', 'attempts', 'max_attempts', 'status')
local group, status = job[1], job[3]
local limit, tries = unpack(redis.call('HMGET', KEYS[2], 'tries', 'limit'))
local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
local at = 0
if table.getn(first) == 2 then at = tonumber(first[1]) end
return cjson.encode({group or '', status or '', limit or 0, tries or 0, at})
