--- Writes a document if its version is the one that the writer read.
---@key document hash
---@arg version int(0..9007199254740990)
---@arg body bytes
---@return int(1..9007199254740991) new
---@error STALE another version is there
local current = tonumber(redis.call('hget', document, 'version') or '0')
if current ~= tonumber(version) then
  return redis.error_reply('STALE another version is there')
end
local new = redis.call('hincrby', document, 'version', 1)
redis.call('hset', document, 'body', body)
return new
