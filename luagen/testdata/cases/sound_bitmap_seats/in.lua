--- Takes the first free seat of a hall.
---@key seats string
---@arg size int(1..100000)
---@return int? seat
local seat = redis.call('bitpos', seats, 0)
if seat < 0 then
  seat = redis.call('bitcount', seats)
end
if seat >= tonumber(size) then
  return false
end
redis.call('setbit', seats, seat, 1)
return seat
