use super::harness::Server;

#[test]
fn without_tables() {
    let mut s = Server::new("notables");
    assert_eq!(s.lines("SELECT 1"), ["1"]);
    assert_eq!(s.lines("SELECT 1+1 AS two, 'x', NULL"), ["2,x,NULL"]);
    assert_eq!(s.lines("SELECT 1 WHERE 1=0").len(), 0);
    assert_eq!(s.lines("SELECT 1 UNION SELECT 2 UNION SELECT 1 ORDER BY 1 DESC"), ["2", "1"]);
}
