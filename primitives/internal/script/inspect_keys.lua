--- Returns what keys hold. Of a large value it reads only the beginning, of a sorted set also the end, so its cost
--- does not grow with the values.
---
---@key keys any...
---@arg most int(1..100)   fields, elements or members that it reads of a large value
---@return int now         the server's time, in microseconds
---@return string[] kinds  per key: as TYPE names it; none: nothing
---@return int[] ttls      per key: milliseconds; -1: no expiry
---@return int[] sizes     per key: bytes, fields, elements or members
---@return int[] ahead     per key: the members of a sorted set whose score is a time to come, in milliseconds
---@return int[] behind    per key: the members whose negated score is a time to come
---@return int[] counts    per key: how many of the texts are its own
---@return string[] texts  a text; fields and values; elements; members and scores
---@readonly
---@include clock.lua
local now = micros()
local kinds, ttls, sizes, ahead, behind, counts, texts = {}, {}, {}, {}, {}, {}, {}
for i, key in ipairs(keys) do
  local kind, found = redis.call('type', key).ok, {}
  kinds[i], ttls[i], sizes[i], ahead[i], behind[i] = kind, redis.call('pttl', key), 0, 0, 0
  if kind == 'string' then
    sizes[i] = redis.call('strlen', key)
    found = {redis.call('getrange', key, 0, 2047)}
  elseif kind == 'list' then
    sizes[i] = redis.call('llen', key)
    found = redis.call('lrange', key, 0, most - 1)
  elseif kind == 'hash' then
    sizes[i] = redis.call('hlen', key)
    found = redis.call('hscan', key, 0, 'count', 100)[2] -- all, if there are fewer
  elseif kind == 'zset' then
    sizes[i] = redis.call('zcard', key)
    local time = string.format('%.0f', math.floor(now / 1000))
    ahead[i] = redis.call('zcount', key, time, '+inf')
    behind[i] = redis.call('zcount', key, '-inf', '-' .. time)
    found = redis.call('zrange', key, 0, most - 1, 'withscores')
    local from = math.max(tonumber(most), sizes[i] - most)
    for _, text in ipairs(redis.call('zrange', key, from, -1, 'withscores')) do
      found[#found + 1] = text
    end
  end
  counts[i] = #found
  for _, text in ipairs(found) do
    texts[#texts + 1] = string.sub(text, 1, 2048)
  end
end
return {now, kinds, ttls, sizes, ahead, behind, counts, texts}
