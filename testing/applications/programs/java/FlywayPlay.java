import java.sql.*;
import java.util.*;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.*;
import org.flywaydb.core.api.configuration.FluentConfiguration;

/** Flyway's commands against a server: what each says, and what the migrated schema answers. */
public class FlywayPlay {
    static String url, user, password;
    static FluentConfiguration at(String... places) {
        return Flyway.configure().dataSource(url, user, password).locations(places).placeholders(Map.of("smallest", "0.05")).cleanDisabled(false);
    }
    static void info(String what, Flyway flyway) {
        System.out.println("# " + what);
        for (MigrationInfo i : flyway.info().all())
            System.out.println(i.getVersion() + " " + i.getDescription() + " " + i.getType() + " " + i.getState());
    }
    static void rows(Connection c, String sql) throws SQLException {
        System.out.println("> " + sql);
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            int n = r.getMetaData().getColumnCount();
            while (r.next()) {
                StringBuilder line = new StringBuilder();
                for (int i = 1; i <= n; i++) line.append(i == 1 ? "" : "|").append(r.getString(i));
                System.out.println(line);
            }
        } catch (SQLException e) { System.out.println("! " + e.getErrorCode() + " " + e.getSQLState() + " " + e.getMessage()); }
    }
    public static void main(String[] a) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        user = a[2]; password = a[3];
        String base = "jdbc:mysql://127.0.0.1:" + a[0] + "/";
        String opts = "?sslMode=DISABLED&allowPublicKeyRetrieval=true&connectionTimeZone=UTC&forceConnectionTimeZoneToSession=true";
        try (Connection c = DriverManager.getConnection(base + opts, user, password); Statement s = c.createStatement()) {
            s.execute("DROP DATABASE IF EXISTS fly"); s.execute("CREATE DATABASE fly DEFAULT CHARACTER SET utf8mb4");
        }
        url = base + "fly" + opts;
        String place = "filesystem:" + a[1];
        Flyway flyway = at(place).load();
        info("before", flyway);
        System.out.println("migrated " + at(place).target("3").load().migrate().migrationsExecuted);
        info("at 3", at(place).load());
        // Two at once: one waits for the other's lock and finds nothing to do.
        List<Integer> done = Collections.synchronizedList(new ArrayList<>());
        Thread[] both = new Thread[2];
        for (int i = 0; i < 2; i++) { both[i] = new Thread(() -> done.add(at(place).load().migrate().migrationsExecuted)); both[i].start(); }
        for (Thread t : both) t.join();
        Collections.sort(done);
        System.out.println("two at once " + done);
        info("all", flyway);
        flyway.validate();
        System.out.println("validated");
        try (Connection c = DriverManager.getConnection(url, user, password)) {
            answers(c);
        }
        // A migration that fails in its middle, and the repair.
        java.nio.file.Path bad = java.nio.file.Files.createTempDirectory("bad");
        java.nio.file.Files.writeString(bad.resolve("V6__bad.sql"), "CREATE TABLE half (a INT);\nINSERT INTO half VALUES (1);\nINSERT INTO nowhere VALUES (1);\n");
        Flyway broken = at(place, "filesystem:" + bad).load();
        try { broken.migrate(); System.out.println("no error?"); }
        catch (FlywayException e) { for (String l : e.getMessage().split("\n")) if (l.matches("(SQL State|Error Code|Message|Line).*")) System.out.println(l.replaceAll("'fly\\.nowhere'.*", "")); }
        info("failed", broken);
        try { broken.validate(); } catch (FlywayException e) { System.out.println("not valid"); }
        System.out.println("repaired " + broken.repair().migrationsRemoved.size());
        info("repaired", broken);
        System.out.println("cleaned " + flyway.clean().schemasCleaned);
        try (Connection c = DriverManager.getConnection(url, user, password)) {
            for (String t : new String[] {"tables", "views", "routines", "triggers"})
                rows(c, "select count(*) from information_schema." + t + " where " + (t.startsWith("t") && t.endsWith("s") && !t.equals("triggers") || t.equals("views") ? "table" : t.equals("triggers") ? "trigger" : "routine") + "_schema = 'fly'");
        }
        flyway.baseline();
        info("baseline", flyway);
    }
    static void answers(Connection c) throws Exception {
        rows(c, "select version, description, type, script, checksum, success from flyway_schema_history order by installed_rank");
        rows(c, "select id, email, name, state, flags, created = changed from customers order by id");
        rows(c, "select sku, price, gross, stock from products order by id");
        rows(c, "select id, customer_id, total from orders order by id");
        rows(c, "select what from diary order by at, what");
        rows(c, "select count(*) from diary_archive");
        rows(c, "select * from turnover order by id");
        rows(c, "select * from active_customers order by id");
        rows(c, "select * from monthly order by 1");
        rows(c, "select table_name, table_type, engine from information_schema.tables where table_schema = 'fly' order by 1");
        rows(c, "select table_name, column_name, column_type, is_nullable from information_schema.columns where table_schema = 'fly' order by 1, ordinal_position");
        rows(c, "select constraint_name, table_name, referenced_table_name, update_rule, delete_rule from information_schema.referential_constraints where constraint_schema = 'fly' order by 1");
        rows(c, "select routine_name, routine_type from information_schema.routines where routine_schema = 'fly' order by 1");
        rows(c, "select trigger_name, event_manipulation, event_object_table, action_timing from information_schema.triggers where trigger_schema = 'fly' order by 1");
        rows(c, "select table_name, index_name, seq_in_index, column_name, sub_part, non_unique from information_schema.statistics where table_schema = 'fly' order by 1, 2, 3");
        try (CallableStatement call = c.prepareCall("{call place_order(?, ?, ?, ?)}")) {
            call.setInt(1, 2); call.setInt(2, 1); call.setInt(3, 4); call.registerOutParameter(4, Types.BIGINT);
            call.execute();
            System.out.println("placed " + call.getLong(4));
            call.setInt(3, 1000000);
            try { call.execute(); } catch (SQLException e) { System.out.println(e.getSQLState() + " " + e.getMessage()); }
            call.setInt(3, 0);
            try { call.execute(); } catch (SQLException e) { System.out.println(e.getSQLState() + " " + e.getMessage()); }
        }
        try (CallableStatement call = c.prepareCall("{? = call price_of(?)}")) {
            call.registerOutParameter(1, Types.DECIMAL); call.setInt(2, 2); call.execute();
            System.out.println("price " + call.getBigDecimal(1));
        }
        DatabaseMetaData m = c.getMetaData();
        for (String t : new String[] {"customers", "orders", "order_lines", "products"}) {
            try (ResultSet r = m.getColumns("fly", null, t, "%")) { while (r.next()) System.out.println(t + "." + r.getString("COLUMN_NAME") + " " + r.getInt("DATA_TYPE") + " " + r.getString("TYPE_NAME") + " " + r.getInt("COLUMN_SIZE") + " " + r.getInt("DECIMAL_DIGITS") + " " + r.getInt("NULLABLE") + " " + r.getString("IS_AUTOINCREMENT")); }
            try (ResultSet r = m.getImportedKeys("fly", null, t)) { List<String> keys = new ArrayList<>(); while (r.next()) keys.add(r.getString("FK_NAME") + " " + r.getString("FKCOLUMN_NAME") + " " + r.getString("PKTABLE_NAME") + " " + r.getInt("UPDATE_RULE") + " " + r.getInt("DELETE_RULE")); Collections.sort(keys); System.out.println(keys); }
            try (ResultSet r = m.getPrimaryKeys("fly", null, t)) { while (r.next()) System.out.println("pk " + r.getString("COLUMN_NAME") + " " + r.getInt("KEY_SEQ")); }
            try (ResultSet r = m.getIndexInfo("fly", null, t, false, true)) { while (r.next()) System.out.println(r.getString("INDEX_NAME") + " " + r.getString("COLUMN_NAME") + " " + r.getBoolean("NON_UNIQUE")); }
        }
        try (ResultSet r = m.getProcedures("fly", null, "%")) { while (r.next()) System.out.println("procedure " + r.getString("PROCEDURE_NAME") + " " + r.getInt("PROCEDURE_TYPE")); }
        try (ResultSet r = m.getProcedureColumns("fly", null, "place_order", "%")) { while (r.next()) System.out.println("parameter " + r.getString("COLUMN_NAME") + " " + r.getInt("COLUMN_TYPE") + " " + r.getString("TYPE_NAME")); }
    }
}
